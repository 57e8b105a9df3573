// Package sts is AWS STS, as far as the credential chains of SDKs call it: the caller's identity, and temporary
// credentials of a role or of a user.
//
// Its nouns are the session, who somebody is with temporary credentials, and its credentials. A session is stored
// nowhere: its access key contains the account (wire.TemporaryKey), and its token the rest. Roles, users and their
// permissions do not exist: every role can be assumed by everybody, calls with its credentials may do everything in the
// role's account, and sessions do not end. Every other caller of an account, with any access key or none, is the same
// user.
package sts
