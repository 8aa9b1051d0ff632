!> Jacobi's method for Poisson's equation on a plate with a fixed potential at its edges.
module poisson
  use, intrinsic :: iso_c_binding, only: c_associated, c_double, c_int, c_intptr_t, c_loc, c_ptr
  use memarray
  implicit none
  private
  public :: addresses, failed, relax

  !> Results of the functions, which module.c has, too.
  enum, bind(C)
    enumerator :: succeeded = 0
    enumerator :: failed = -1  !< memarray has the reason
    enumerator :: not_a_matrix = 1
    enumerator :: no_columns = 2
    enumerator :: shapes_differ = 3
    enumerator :: no_memory = 4
  end enum

contains

  !> Relaxes the array `potential` by some steps under a write lease. `charge` is a view of any memory; times the square
  !> of the grid's spacing. `change` is the largest change in the last step.
  function relax(potential, charge, steps, change) bind(C, name="poisson_relax") result(status)
    type(c_ptr), value :: potential, charge
    integer(c_int), value :: steps
    real(c_double), intent(out) :: change
    integer(c_int) :: status
    type(c_ptr) :: lease
    real(c_double), pointer, contiguous :: u(:, :)
    real(c_double), pointer :: f(:, :)

    change = 0
    status = check(potential, charge, f)
    if (status /= succeeded) return
    lease = write_array(potential)
    if (.not. c_associated(lease)) then
      status = failed
      return
    end if
    if (.not. lease_matrix(lease, potential, .true., u)) then
      status = failed
    else if (any(shape(u) /= shape(f))) then
      status = shapes_differ
    else
      status = iterate(u, f, steps, change)
    end if
    call release_lease(lease)
  end function

  !> Writes the addresses of the first elements that Fortran sees, u(1, 1) and f(1, 1).
  function addresses(potential, charge, first_u, first_f) bind(C, name="poisson_addresses") result(status)
    type(c_ptr), value :: potential, charge
    integer(c_intptr_t), intent(out) :: first_u, first_f
    integer(c_int) :: status
    type(c_ptr) :: lease
    real(c_double), pointer, contiguous :: u(:, :)
    real(c_double), pointer :: f(:, :)

    first_u = 0
    first_f = 0
    status = check(potential, charge, f)
    if (status /= succeeded) return
    lease = read_array(potential)
    if (.not. c_associated(lease)) then
      status = failed
      return
    end if
    if (.not. lease_matrix(lease, potential, .false., u)) then
      status = failed
    else if (size(u) == 0 .or. size(f) == 0) then
      status = shapes_differ
    else
      first_u = transfer(c_loc(u(1, 1)), first_u)
      first_f = transfer(c_loc(f(1, 1)), first_f)
    end if
    call release_lease(lease)
  end function

  !> Checks both types before any lease, and makes `f` the view's memory.
  function check(potential, charge, f) result(status)
    type(c_ptr), intent(in) :: potential, charge
    real(c_double), pointer, intent(out) :: f(:, :)
    integer(c_int) :: status

    nullify(f)
    status = not_a_matrix
    if (.not. array_is(potential)) return
    if (.not. view_is(charge)) return
    status = no_columns
    if (view_matrix(charge, f)) status = succeeded
  end function

  function iterate(u, f, steps, change) result(status)
    real(c_double), contiguous, intent(inout) :: u(:, :)
    real(c_double), intent(in) :: f(:, :)
    integer(c_int), intent(in) :: steps
    real(c_double), intent(out) :: change
    integer(c_int) :: status
    real(c_double), allocatable :: next(:, :)
    integer :: step, n, m, failure

    n = size(u, 1)
    m = size(u, 2)
    change = 0
    status = no_memory
    allocate(next(2:n - 1, 2:m - 1), stat=failure)
    if (failure /= 0) return
    do step = 1, steps
      call sweep(u, f, next)
      change = max(0.0_c_double, maxval(abs(next - u(2:n - 1, 2:m - 1))))
      u(2:n - 1, 2:m - 1) = next
    end do
    status = succeeded
  end function

  !> Sets `next` to the inner elements after one step. The first index runs over adjacent elements.
  pure subroutine sweep(u, f, next)
    real(c_double), contiguous, intent(in) :: u(:, :)
    real(c_double), intent(in) :: f(:, :)
    real(c_double), contiguous, intent(out) :: next(2:, 2:)
    integer :: i, j

    do j = 2, size(u, 2) - 1
      do i = 2, size(u, 1) - 1
        next(i, j) = 0.25_c_double * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - f(i, j))
      end do
    end do
  end subroutine
end module
