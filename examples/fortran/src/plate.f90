!> A program without Python: it owns its arrays, and reports a refused lease.
program plate
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_int, c_ptr
  use memarray
  use poisson
  implicit none
  integer, parameter :: rows = 8, columns = 5
  type(c_ptr) :: potential, charges, rows_of_charges, charge, lease
  real(c_double), pointer, contiguous :: u(:, :)
  real(c_double) :: change
  integer(c_int) :: status

  potential = create_array([rows, columns])
  charges = create_array([rows, columns])
  if (.not. (c_associated(potential) .and. c_associated(charges))) error stop "there is no memory for the arrays"

  ! At the edges u(i, j) = i, so the solution without charges is u(i, j) = i everywhere.
  lease = write_array(potential)
  if (.not. c_associated(lease)) error stop "the array is used elsewhere"
  if (.not. lease_matrix(lease, potential, .true., u)) error stop "the lease has no memory"
  u(1, :) = 1
  u(rows, :) = rows
  u(:, 1) = [(status, status = 1, rows)]
  u(:, columns) = u(:, 1)
  call release_lease(lease)

  ! The view has the dimensions of C, so its transpose has those of Fortran.
  rows_of_charges = array_view(charges)
  charge = transpose_view(rows_of_charges)
  call release_view(rows_of_charges)
  if (.not. c_associated(charge)) error stop "the charges have no view"

  status = relax(potential, charge, 500_c_int, change)
  if (status /= 0) error stop "relaxing failed"
  print "(a, es8.1)", "last change ", change

  lease = read_array(potential)
  if (.not. lease_matrix(lease, potential, .false., u)) error stop "the lease has no memory"
  if (maxval(abs(u(:, 3) - u(:, 1))) > 1e-9_c_double) error stop "this is not the solution"
  ! While this lease reads, none may write.
  if (relax(potential, charge, 1_c_int, change) /= failed) error stop "a read lease does not exclude a write lease"
  print "(a)", last_message("relaxing")
  call release_lease(lease)

  call release_view(charge)
  call release_array(charges)
  call release_array(potential)
end program
