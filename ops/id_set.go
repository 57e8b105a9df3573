package ops

import "crypto/sha256"

// idSet is a set of ids of messages. It keeps 16 bytes of a hash of each, because a channel may have millions of them.
type idSet map[[16]byte]struct{}

func (s idSet) add(id string) { s[hashOf(id)] = struct{}{} }

func (s idSet) has(id string) bool {
	_, there := s[hashOf(id)]
	return there
}

func hashOf(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}
