// Package sts answers who is asking.
//
// Service is AWS STS as far as programs that look up their account need it: one action, GetCallerIdentity.
// There are no users here: whoever asks, with any key or none, is the one user of the one account.
package sts
