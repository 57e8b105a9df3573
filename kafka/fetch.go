package kafka

const (
	// fetchTogether is how many bytes a fetch of all partitions brings: several windows of small records.
	fetchTogether = 4 << 20
	// largestShare is franz-go's own default. A fetch exceeds its share if a single record is larger.
	smallestShare = 32 << 10
	largestShare  = 1 << 20
)

// fetchShare is how many bytes of one partition a fetch brings. Records of two fetches are in memory before they are
// handled: of the one that is being admitted, and of the next.
func fetchShare(partitions int) int32 {
	return int32(min(max(fetchTogether/max(partitions, 1), smallestShare), largestShare))
}
