// Package calls records how calls to a service go, by stage, so that a consumer's health can name the stages that
// stall.
package calls
