// SPDX-License-Identifier: Apache-2.0
// Does nothing: the target that builds the precompiled header of the tests needs a source file.
int main() { return 0; }
