// Package nearname finds the names that a wrong name may stand for, so that an error can suggest them.
package nearname
