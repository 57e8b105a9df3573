// Package keda answers KEDA's external scaler: a [Scaler] says how many processes a channel needs, as `godwit demand`
// does. A trigger names the channel in its metadata, and may have settings of its own.
package keda
