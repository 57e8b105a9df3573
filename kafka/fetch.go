package kafka

const (
	// fetchTogether is what a fetch of all partitions brings, about: several windows of small records.
	fetchTogether = 4 << 20
	// largestShare is franz-go's own default. A share is passed where one record is larger.
	smallestShare = 32 << 10
	largestShare  = 1 << 20
)

// fetchShare is how many bytes of one partition a fetch brings. What waits in memory to be handled is two fetches: the
// one that is admitted, and the next.
func fetchShare(partitions int) int32 {
	return int32(min(max(fetchTogether/max(partitions, 1), smallestShare), largestShare))
}
