package sns

// CheckEndpoint returns an error if SNS may not connect to an address that a host name means.
func CheckEndpoint(e *Endpoints, host, address string) error { return e.check(host, address) }

// The bounds of the outbox.
const (
	AttemptsAtOnce      = attemptsAtOnce
	AttemptsPerEndpoint = attemptsPerEndpoint
	MaxOutbox           = maxOutbox
)
