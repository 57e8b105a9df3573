package kafka

const (
	// fetchTogether is what a fetch of all partitions brings at most, about: several windows of small records.
	fetchTogether = 4 << 20
	// largestShare is franz-go's own default. A share is passed where one record is larger.
	smallestShare = 32 << 10
	largestShare  = 1 << 20
)

// fetchShare is how many bytes of one partition a fetch brings. Polls empty one partition after another, so with large shares
// the records of one fill the whole window, and only its keys are handled at once: with 64 partitions, a thousand keys and
// handlers of 1 ms, 1 MiB each gave half of what 64 KiB do.
func fetchShare(partitions int) int32 {
	return int32(min(max(fetchTogether/max(partitions, 1), smallestShare), largestShare))
}
