package ops

import (
	"time"
)

const (
	// catalogEvery and ratesEvery are the shortest times between two requests of the catalog, and of the activity.
	// Services show their changes only after a minute or more.
	catalogEvery = time.Minute
	ratesEvery   = time.Minute

	// A look at a channel costs two requests on SQS: for its URL and for its attributes.
	requestsALook = 2
	// A catalog costs two requests for each channel, and one for each hundred of them.
	requestsAnEntry = 2
	entriesAPage    = 100
	// A request for the activity answers for 83 queues on AWS: six metrics of each, of five hundred.
	channelsAnActivity = 83
)

// Pace is how often a Sampler looks, and what that costs. The requests are estimated as they are on AWS.
type Pace struct {
	// Wanted is the interval that was asked for, and Interval the one that the budget allows.
	Wanted, Interval time.Duration
	// Catalog is how often the list of channels is read, and Rates how often their activity.
	Catalog, Rates time.Duration
	// Requests is how many requests a minute this costs, and Budget how many are allowed.
	Requests, Budget int
}

// paceFor divides a budget: at most a quarter of it is for catalogs, an eighth for activity, and the rest for looks.
func paceFor(wanted time.Duration, budget, channels, looks int, meters bool) Pace {
	p := Pace{Wanted: wanted, Budget: budget}
	catalog := requestsAnEntry*channels + channels/entriesAPage + 1
	p.Catalog = atMost(catalog, float64(budget)/4, catalogEvery)
	used := aMinute(catalog, p.Catalog)
	if meters {
		activity := channels/channelsAnActivity + 1
		p.Rates = atMost(activity, float64(budget)/8, ratesEvery)
		used += aMinute(activity, p.Rates)
	}
	p.Interval = atMost(requestsALook*looks, float64(budget)-used, wanted)
	p.Requests = int(used + aMinute(requestsALook*looks, p.Interval) + 0.5)
	return p
}

// atMost is the interval at which some requests are at most limit a minute, and at least least.
func atMost(requests int, limit float64, least time.Duration) time.Duration {
	needs := time.Duration(float64(requests) / limit * float64(time.Minute))
	if needs <= least {
		return least
	}
	return (needs + time.Second - 1).Truncate(time.Second)
}

func aMinute(requests int, every time.Duration) float64 {
	return float64(requests) * float64(time.Minute) / float64(every)
}
