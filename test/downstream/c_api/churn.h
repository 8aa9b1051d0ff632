#pragma once

/* Makes and drops a stream, an event and memory `rounds` times, from three copies of each ref. Without the GIL. 0, or
   −1 with the last error set. */
int churn(int device_id, int rounds);
