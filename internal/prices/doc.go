// Package prices has the prices of AWS that estimates of costs are made with.
//
// Its noun: a [Table] is the prices of one day.
package prices
