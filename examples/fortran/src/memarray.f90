!> Arrays, leases and views of memarray for Fortran: what this example needs of the C API.
!>
!> An array of shape (m, n) is the Fortran array a(n, m). References are of type(c_ptr), null after a failure. Each
!> function that returns one makes the caller its owner, until the release.
module memarray
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_int, c_int64_t, c_null_char, &
    c_ptr, c_size_t
  implicit none
  private
  public :: array_is, array_view, create_array, last_message, lease_matrix, read_array, release_array, release_lease, &
    release_view, transpose_view, view_is, view_matrix, write_array

  interface
    !> Returns an array of zeros. `shape` is in the order of C: the last extent is that of adjacent elements.
    function memarray_create_array(dtype, ndim, shape) bind(C) result(array)
      import :: c_char, c_int, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: ndim
      integer(c_int64_t), intent(in) :: shape(*)
      type(c_ptr) :: array
    end function

    !> Releases an array; leases, views and Python keep what they share.
    subroutine release_array(array) bind(C, name="memarray_release_array")
      import :: c_ptr
      type(c_ptr), value :: array
    end subroutine

    function memarray_array_is(array, dtype, ndim) bind(C) result(is)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: array
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: ndim
      integer(c_int) :: is
    end function

    function memarray_array_shape(array, shape) bind(C) result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), intent(out) :: shape(*)
      integer(c_int) :: status
    end function

    !> Returns a read lease: nothing changes the array until its release. Null if the array is being written.
    function read_array(array) bind(C, name="memarray_read_array") result(lease)
      import :: c_ptr
      type(c_ptr), value :: array
      type(c_ptr) :: lease
    end function

    !> Returns a write lease: the array has no other user until its release. Null if the array has another user.
    function write_array(array) bind(C, name="memarray_write_array") result(lease)
      import :: c_ptr
      type(c_ptr), value :: array
      type(c_ptr) :: lease
    end function

    !> Closes a lease; ignores null. Pointers to its memory are invalid after this call.
    subroutine release_lease(lease) bind(C, name="memarray_release_lease")
      import :: c_ptr
      type(c_ptr), value :: lease
    end subroutine

    function memarray_lease_data(lease, writable) bind(C) result(memory)
      import :: c_int, c_ptr
      type(c_ptr), value :: lease
      integer(c_int), value :: writable
      type(c_ptr) :: memory
    end function

    !> Returns a view of the present contents, which later writes do not change.
    function array_view(array) bind(C, name="memarray_array_view") result(view)
      import :: c_ptr
      type(c_ptr), value :: array
      type(c_ptr) :: view
    end function

    !> Returns a view of the same memory with its dimensions in reverse order.
    function transpose_view(view) bind(C, name="memarray_transpose_view") result(transposed)
      import :: c_ptr
      type(c_ptr), value :: view
      type(c_ptr) :: transposed
    end function

    !> Releases a view; ignores null.
    subroutine release_view(view) bind(C, name="memarray_release_view")
      import :: c_ptr
      type(c_ptr), value :: view
    end subroutine

    function memarray_view_is(view, dtype, ndim) bind(C) result(is)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: view
      character(kind=c_char), intent(in) :: dtype(*)
      integer(c_int), value :: ndim
      integer(c_int) :: is
    end function

    function memarray_view_shape(view) bind(C) result(shape)
      import :: c_ptr
      type(c_ptr), value :: view
      type(c_ptr) :: shape
    end function

    function memarray_view_strides(view) bind(C) result(strides)
      import :: c_ptr
      type(c_ptr), value :: view
      type(c_ptr) :: strides
    end function

    function memarray_view_data(view) bind(C) result(memory)
      import :: c_ptr
      type(c_ptr), value :: view
      type(c_ptr) :: memory
    end function

    function memarray_last_message(what, buffer, size) bind(C) result(length)
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: what(*)
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: size
      integer(c_size_t) :: length
    end function
  end interface

contains

  !> Returns an array of float64 with the extents of a Fortran array a(shape(1), shape(2)).
  function create_array(shape) result(array)
    integer, intent(in) :: shape(2)
    type(c_ptr) :: array
    array = memarray_create_array("float64" // c_null_char, 2_c_int, int(shape(2:1:-1), c_int64_t))
  end function

  !> True if the array has float64 elements and two dimensions.
  function array_is(array) result(is)
    type(c_ptr), intent(in) :: array
    logical :: is
    is = memarray_array_is(array, "float64" // c_null_char, 2_c_int) == 1
  end function

  !> True if the view has float64 elements and two dimensions, and is on the host.
  function view_is(view) result(is)
    type(c_ptr), intent(in) :: view
    logical :: is
    is = memarray_view_is(view, "float64" // c_null_char, 2_c_int) == 1
  end function

  !> Makes `matrix` the memory of an open lease of `array`, valid until the release of the lease.
  function lease_matrix(lease, array, writable, matrix) result(done)
    type(c_ptr), intent(in) :: lease, array
    logical, intent(in) :: writable
    real(c_double), pointer, contiguous, intent(out) :: matrix(:, :)
    logical :: done
    type(c_ptr) :: memory
    integer(c_int64_t) :: shape(2)

    nullify(matrix)
    memory = memarray_lease_data(lease, merge(1_c_int, 0_c_int, writable))
    done = c_associated(memory)
    if (done) done = memarray_array_shape(array, shape) == 0
    if (done) call c_f_pointer(memory, matrix, shape(2:1:-1))
  end function

  !> Makes `matrix` the memory of a view, valid until the release of the view. Returns false unless the elements of a
  !> column are adjacent; columns may be apart, as in a block of a larger matrix.
  function view_matrix(view, matrix) result(done)
    type(c_ptr), intent(in) :: view
    real(c_double), pointer, intent(out) :: matrix(:, :)
    logical :: done
    integer(c_int64_t), pointer :: shape(:), strides(:)
    integer(c_int64_t) :: leading
    real(c_double), pointer :: columns(:, :)
    integer(c_int64_t), parameter :: itemsize = storage_size(0.0_c_double) / 8

    nullify(matrix)
    call c_f_pointer(memarray_view_shape(view), shape, [2])
    call c_f_pointer(memarray_view_strides(view), strides, [2])
    leading = shape(1)
    if (shape(2) > 1) leading = strides(2) / itemsize
    done = (shape(1) <= 1 .or. strides(1) == itemsize) .and. leading >= shape(1) .and. &
      (shape(2) <= 1 .or. mod(strides(2), itemsize) == 0)
    if (.not. done) return
    call c_f_pointer(memarray_view_data(view), columns, [leading, shape(2)])
    matrix => columns(1:shape(1), :)
  end function

  !> Returns a message about the last failure in this thread, which begins with `what`, and clears the failure.
  function last_message(what) result(message)
    character(*), intent(in) :: what
    character(:), allocatable :: message
    character(kind=c_char) :: buffer(512)
    integer :: i, length

    length = int(memarray_last_message(what // c_null_char, buffer, size(buffer, kind=c_size_t)))
    allocate(character(min(length, size(buffer) - 1)) :: message)
    do i = 1, len(message)
      message(i:i) = buffer(i)
    end do
  end function
end module
