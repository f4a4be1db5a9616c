C     One pass over all three fields.
      SUBROUTINE MIX
      INCLUDE 'fields.inc'
      INTEGER I
      DO 10 I = 1, N
         B(I) = B(I) + A(I)
         C(I) = C(I) + 1.0D0
 10   CONTINUE
      END
