// Package permissions says which permissions of IAM a call of AWS needs, for tests that compare policies with calls.
//
// Its nouns: a [Permission] is an action on a resource, as a policy names them.
package permissions
