      program main
      call first
      call later
      end
      subroutine first
      double precision u(100,100), v(200), w(300,10)
      common /fields/ u, v, w
      double precision kept(5000)
      save kept
      integer i
      do i = 1, 100
        u(i,1) = i
        kept(i) = u(i,1)
      end do
      v(1) = u(1,1) + kept(3)
      end
      subroutine later
      double precision other(100,100), v(200), w(300,10)
      common /fields/ other, v, w
      print *, other(3,1), w(1,1), v(1)
      end
