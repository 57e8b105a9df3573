// Package metric is the model of CloudWatch's metrics, without a wire format.
//
// Its nouns: an [ID] names a metric. [Stats] summarize samples: their number, sum, minimum and maximum, and, as far as
// they are known, the values themselves. A track has the points of one metric and one unit, in layers of growing
// period: as on AWS, a point of a second is kept for three hours, one of a minute for 15 days, one of five minutes for
// 63 days and one of an hour for 455 days. A run is consecutive equal points, which are stored once. A [Statistic]
// computes one number from Stats. The [Store] holds all tracks.
//
// A Store has no goroutine and no timer. Every method that adds or reads points gets the current time.
package metric
