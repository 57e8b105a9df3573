// Package filterpolicy writes and reads the filter policy of a subscription: the form in which SNS has a
// [driver.Filter].
package filterpolicy
