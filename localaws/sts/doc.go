// Package sts is AWS STS, as far as programs need it to look up their account: one action, GetCallerIdentity.
//
// Its noun: a [Service] belongs to one account. It has no users: every caller, with any access key or none, is the same
// user.
package sts
