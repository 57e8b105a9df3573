// Package contexts checks that each exported function of a package that takes a context ends with it, whatever the
// service does. The list of functions is read from the package's files, so a new one without a case fails the check.
package contexts
