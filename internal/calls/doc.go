// Package calls keeps track of how calls to a service go, stage by stage, so that health can tell which of them stall.
package calls
