// Package sts is AWS STS, as far as programs need it to look up their account: one action, GetCallerIdentity.
//
// It has no nouns, and nothing is stored: the call says the caller's account. There are no users: every caller of
// an account, with any access key or none, is the same user.
package sts
