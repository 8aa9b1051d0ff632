"""One module for each family of rows. Peers are imported inside the rows: naming rows needs none of them."""
