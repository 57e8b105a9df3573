package offsets

// The metadata is a row of stretches, unfinished and finished in turn, each written as its length in a Golomb-Rice code: the
// length's high bits in unary, then so many low bits. A stretch too long for that is written apart, as an exception.

// lowBits are the Rice parameters that an encoder may choose from. Four are enough: for lengths that are even on average, the
// next best parameter costs at most a third more.
const (
	lowBits0 = 0
	lowBits1 = 2
	lowBits2 = 5
	lowBits3 = 9
)

var lowBits = [...]uint{lowBits0, lowBits1, lowBits2, lowBits3}

// exceptionBits is the most an exception costs: 3 bytes to say which of the stretches it is, 9 for a length of 63 bits.
const exceptionBits = 8 * (3 + 9)

// slackBits are kept free for what prices leave out: the first stretch counts one offset more, and where the log as read meets
// what is told of it beyond, one stretch can be longer than its parts were counted.
const slackBits = exceptionBits + 32

// price is the most bits that a stretch of so many offsets costs. Joining two stretches never costs more than both did:
// that makes the sum of prices a bound on all that can still happen.
func price(length int64, low uint) int64 {
	if length <= 0 {
		return 0
	}
	return 1 + int64(low) + min((length-1)>>low, exceptionBits)
}

// prices are sums of prices, one for each of lowBits.
type prices [len(lowBits)]int64

// add and sub are in every record's way, so they are spelled out.
func (p *prices) add(length int64) {
	p[0] += price(length, lowBits0)
	p[1] += price(length, lowBits1)
	p[2] += price(length, lowBits2)
	p[3] += price(length, lowBits3)
}

func (p *prices) sub(length int64) {
	p[0] -= price(length, lowBits0)
	p[1] -= price(length, lowBits1)
	p[2] -= price(length, lowBits2)
	p[3] -= price(length, lowBits3)
}

// room says whether one more unfinished record, so many offsets after the newest, can be admitted: whatever finishes then, in
// whatever order, some parameter encodes it.
func (t *Tracker) room(width int64) bool {
	if t.limit == 0 {
		return true // nothing is encoded, so nothing bounds it
	}
	budget := int64(8*(metadataBytes(t.limit)-frameBytes)) - slackBits
	for i, low := range lowBits {
		if t.prices[i]+t.told.prices[i]+price(width, low) <= budget {
			return true
		}
	}
	return false
}
