package offsets

// The metadata is a sequence of stretches, alternately unfinished and finished, each encoded as its length in a
// Golomb-Rice code: the high bits in unary, then a fixed number of low bits. A stretch that is too long for this is
// encoded separately, as an exception.

// lowBits are the Rice parameters that an encoder can choose from. Four are enough: for lengths around one average, the
// nearest of them costs at most a third more than the best parameter.
const (
	lowBits0 = 0
	lowBits1 = 2
	lowBits2 = 5
	lowBits3 = 9
)

var lowBits = [...]uint{lowBits0, lowBits1, lowBits2, lowBits3}

// exceptionBits is the most that an exception costs: 3 bytes for the index of its stretch, 9 for a length of 63 bits.
const exceptionBits = 8 * (3 + 9)

// slackBits are reserved for what prices do not include: the first stretch has one more offset, and where the records
// that were read meet the stretches that the metadata told of, one stretch can be longer than the sum of its parts.
const slackBits = exceptionBits + 32

// price returns the most bits that a stretch of a number of offsets costs. Joining two stretches never costs more than
// both separately, so the sum of prices is an upper bound for every future state.
func price(length int64, low uint) int64 {
	if length <= 0 {
		return 0
	}
	return 1 + int64(low) + min((length-1)>>low, exceptionBits)
}

// prices are sums of prices, one for each value of lowBits.
type prices [len(lowBits)]int64

// add and sub are called for every record, so their loops are unrolled.
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
