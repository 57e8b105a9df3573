package prices

// Table is the prices of a million requests, in US dollars, after the free tier, and of storage.
type Table struct {
	Date           string // when they were last confirmed, as a day or a month
	Queue          float64
	OrderedQueue   float64
	Publish        float64
	OrderedPublish float64
	KMS            float64
	StorePut       float64
	StoreGet       float64
	StoreGiB       float64 // a GiB for a month
}

// Listed is the list prices of us-east-1.
func Listed() Table {
	return Table{
		Date: "2026-06", Queue: 0.40, OrderedQueue: 0.50, Publish: 0.50, OrderedPublish: 0.30, KMS: 3,
		StorePut: 5, StoreGet: 0.40, StoreGiB: 0.023,
	}
}
