# SPDX-License-Identifier: Apache-2.0
"""`terrace lab`: tools for researchers and developers."""
