! SPDX-License-Identifier: Apache-2.0
! Implements a halo exchange on a ring of ranks, in one of Fortran's three interfaces: compile with -DMPIF,
! -DUSE_MPI or -DUSE_MPI_F08. Uses MPI_IN_PLACE, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, sections of arrays and
! optional IERROR (mpi_f08), and counts its calls (called.h).
module bookkeeping
  use iso_c_binding
  implicit none
  interface
    subroutine note_fortran_call(name, length) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: length
    end subroutine
    subroutine note_bytes(name, sent, received) bind(c)
      import :: c_char, c_long
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long), value :: sent, received
    end subroutine
    subroutine write_calls() bind(c)
    end subroutine
  end interface
contains
  subroutine note(name)
    character(len=*), intent(in) :: name
    call note_fortran_call(name, len(name))
  end subroutine
  subroutine move(name, sent, received)
    character(len=*), intent(in) :: name
    integer, intent(in) :: sent, received
    call note_bytes(name // c_null_char, int(sent, c_long), int(received, c_long))
  end subroutine
end module

program halo
#ifdef USE_MPI_F08
  use mpi_f08
#endif
#ifdef USE_MPI
  use mpi
#endif
  use bookkeeping
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
#ifdef USE_MPI_F08
  type(MPI_Request) :: requests(4)
  type(MPI_Status) :: status
  type(MPI_Comm) :: ring
#else
  integer :: requests(4), status(MPI_STATUS_SIZE), ring
#endif
  integer, parameter :: n = 16, steps = 60
  double precision :: u(0:n+1), v(0:n+1), norm, norms(64), plane(4, n)
  integer :: ierror, rank, num_ranks, left, right, step, i, source, tag
  logical :: is_initialized

  call note('Initialized'); call MPI_Initialized(is_initialized, ierror)
  if (is_initialized .or. ierror /= MPI_SUCCESS) stop 3
  call note('Init'); call MPI_Init(ierror)
  call note('Comm_dup'); call MPI_Comm_dup(MPI_COMM_WORLD, ring, ierror)
  call note('Comm_rank'); call MPI_Comm_rank(ring, rank, ierror)
  call note('Comm_size'); call MPI_Comm_size(ring, num_ranks, ierror)
  left = mod(rank + num_ranks - 1, num_ranks)
  right = mod(rank + 1, num_ranks)
  u = rank + 1
  v = 0
  do step = 1, steps
    call move('Irecv', 0, 8); call MPI_Irecv(u(0), 1, MPI_DOUBLE_PRECISION, left, 1, ring, requests(1), ierror)
    call move('Irecv', 0, 8); call MPI_Irecv(u(n+1), 1, MPI_DOUBLE_PRECISION, right, 2, ring, requests(2), ierror)
    call move('Isend', 8, 0); call MPI_Isend(u(n), 1, MPI_DOUBLE_PRECISION, right, 1, ring, requests(3), ierror)
    call move('Isend', 8, 0); call MPI_Isend(u(1), 1, MPI_DOUBLE_PRECISION, left, 2, ring, requests(4), ierror)
    call note('Waitall'); call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    do i = 1, n
      v(i) = 0.25d0 * u(i-1) + 0.5d0 * u(i) + 0.25d0 * u(i+1)
    end do
    u(1:n) = v(1:n)
    if (mod(step, 10) == 0) then
      norm = sum(u(1:n)**2)
      call move('Allreduce', 8, 8)
      call MPI_Allreduce(MPI_IN_PLACE, norm, 1, MPI_DOUBLE_PRECISION, MPI_SUM, ring, ierror)
      if (rank == 0) print '(a, i4, f16.8)', 'norm', step, norm
    end if
    if (mod(step, 25) == 0) then
      norm = u(1)
      if (rank == 0) then
        call move('Gather', 0, 8 * num_ranks)
        norms(1) = norm
        call MPI_Gather(MPI_IN_PLACE, 1, MPI_DOUBLE_PRECISION, norms, 1, MPI_DOUBLE_PRECISION, 0, ring, ierror)
        print '(a, 64f12.6)', 'gather', norms(1:num_ranks)
      else
        call move('Gather', 8, 0)
        call MPI_Gather(norm, 1, MPI_DOUBLE_PRECISION, norms, 1, MPI_DOUBLE_PRECISION, 0, ring, ierror)
      end if
    end if
  end do

  norms = 0
  norms(rank + 1) = u(n)
  call move('Allgather', 8, 8 * num_ranks)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, norms, 1, MPI_DOUBLE_PRECISION, ring, ierror)
  norm = 0
  call move('Sendrecv', 8, 8)
  call MPI_Sendrecv(u(1), 1, MPI_DOUBLE_PRECISION, left, 3, norm, 1, MPI_DOUBLE_PRECISION, right, 3, ring, &
                    MPI_STATUS_IGNORE, ierror)
  plane = 0
  plane(2, :) = u(1:n)
#ifdef USE_MPI_F08
  ! A section with stride, and no IERROR.
  if (rank == 0) then
    call move('Send', 8 * n, 0); call MPI_Send(plane(2, :), n, MPI_DOUBLE_PRECISION, 1, 4, ring)
  else if (rank == 1) then
    call move('Recv', 0, 8 * n); call MPI_Recv(plane(3, :), n, MPI_DOUBLE_PRECISION, 0, 4, ring, status)
    source = status%MPI_SOURCE
    tag = status%MPI_TAG
  end if
#else
  if (rank == 0) then
    v(1:n) = plane(2, :)
    call move('Send', 8 * n, 0); call MPI_Send(v(1), n, MPI_DOUBLE_PRECISION, 1, 4, ring, ierror)
  else if (rank == 1) then
    call move('Recv', 0, 8 * n); call MPI_Recv(v(1), n, MPI_DOUBLE_PRECISION, 0, 4, ring, status, ierror)
    plane(3, :) = v(1:n)
    source = status(MPI_SOURCE)
    tag = status(MPI_TAG)
  end if
#endif
  if (rank == 1) then
    norms(64) = sum(plane(3, :)) + source + tag
    call move('Bcast', 8, 0)
  else
    call move('Bcast', 0, 8)
  end if
  call MPI_Bcast(norms(64), 1, MPI_DOUBLE_PRECISION, 1, ring, ierror)
  if (rank == 0) print '(a, 64f12.6)', 'last', norms(1:num_ranks), norms(64), norm
  call note('Comm_free'); call MPI_Comm_free(ring, ierror)
  call note('Barrier'); call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call note('Finalize'); call MPI_Finalize(ierror)
  call write_calls()
end program
