C     FIELDS: three fields in a COMMON block, of which A is worked on
C     six times as often as the others.
      PROGRAM FLDS
      INCLUDE 'fields.inc'
      INTEGER I, STEP, NSTEPS
      PARAMETER (NSTEPS = 10)
      DOUBLE PRECISION TOTAL, T, P
      DO 10 I = 1, N
         A(I) = DBLE(MOD(I, 8))
         B(I) = 0.0D0
         C(I) = 1.0D0
 10   CONTINUE
      DO 20 STEP = 1, NSTEPS
         CALL SWEEP
         CALL MIX
         CALL TALLY(T)
         CALL PROFILE(A, N, P)
 20   CONTINUE
      TOTAL = T + P
      DO 30 I = 1, N
         TOTAL = TOTAL + A(I) + B(I) + C(I)
 30   CONTINUE
      WRITE (*, 100) NSTEPS, TOTAL
 100  FORMAT ('fields: ', I0, ' steps, checksum ', F0.0)
      END
