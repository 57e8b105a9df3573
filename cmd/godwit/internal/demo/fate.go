package demo

import (
	"errors"
	"math/rand/v2"
)

// Of a hundred wishes, this many can never be handled, fail twice, or fail once. With the consumer's three attempts,
// wishes of the last two kinds succeed in the end.
const (
	hopelessPercent = 2
	twicePercent    = 3
	oncePercent     = 10
)

var (
	errNoUser = errors.New("the user has left")
	errBusy   = errors.New("the shop is busy")
)

// fate is how often handling a wish fails before it succeeds; hopeless means always.
type fate int

const hopeless fate = -1

// fateOf derives the fate of a wish on a branch from the seed and the wish's number.
func fateOf(seed uint64, branch, number int) fate {
	switch n := rand.New(rand.NewPCG(seed+1+uint64(branch), uint64(number))).IntN(100); {
	case n < hopelessPercent:
		return hopeless
	case n < hopelessPercent+twicePercent:
		return 2
	case n < hopelessPercent+twicePercent+oncePercent:
		return 1
	}
	return 0
}

// meet returns the handler's result after a number of failures.
func (f fate) meet(failed int) error {
	switch {
	case f == hopeless:
		return errNoUser
	case failed < int(f):
		return errBusy
	}
	return nil
}
