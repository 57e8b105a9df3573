package kafka

import "testing"

func TestPartitionsShareAFetch(t *testing.T) {
	for partitions, want := range map[int]int32{
		0: 1 << 20, 1: 1 << 20, 4: 1 << 20, 8: 512 << 10, 64: 64 << 10,
		1000: 32 << 10,
	} {
		if got := fetchShare(partitions); got != want {
			t.Errorf("with %d partitions, a fetch brings %d bytes of one, want %d", partitions, got, want)
		}
	}
}
