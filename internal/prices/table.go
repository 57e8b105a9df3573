package prices

// Table is the prices of a million requests, in US dollars, after the free tier, and of storage.
type Table struct {
	Date           string // when they were last confirmed, as a day or a month
	Queue          float64
	OrderedQueue   float64
	Publish        float64
	OrderedPublish float64
	// OrderedPublishGiB is the price of a GiB that is published to an ordered topic.
	OrderedPublishGiB float64
	KMS               float64
	StorePut          float64
	StoreGet          float64
	StoreGiB          float64 // a GiB for a month
}

// Listed is the list prices of us-east-1.
func Listed() Table {
	return Table{
		Date: "2026-06", Queue: 0.40, OrderedQueue: 0.50, Publish: 0.50, OrderedPublish: 0.30, OrderedPublishGiB: 0.017,
		KMS: 3, StorePut: 5, StoreGet: 0.40, StoreGiB: 0.023,
	}
}

// Bill is a number of requests as they are billed, and their price in US dollars.
type Bill struct{ Requests, Dollars float64 }

// Alone is the bill of traffic if each message has requests of its own.
func (p Table) Alone(t Traffic) Bill {
	chunks := t.Chunks()
	return p.bill(&t, float64(t.Sent)*chunks, float64(t.Received)*chunks, float64(t.Deleted))
}

// Batched is the bill of traffic if all batches are full.
func (p Table) Batched(t Traffic) Bill {
	share := 1.0 / fullBatch
	if t.chunked() {
		share = max(share, t.mean()/chunk) // the bytes of a batch are billed together
	}
	return p.bill(&t, float64(t.Sent)*share, float64(t.Received)*share, float64(t.Deleted)/fullBatch)
}

func (p Table) bill(t *Traffic, sends, receives, deletes float64) Bill {
	price, bytes := p.Queue, 0.0
	switch {
	case t.Topic && t.Ordered:
		price, bytes = p.OrderedPublish, float64(t.Bytes)/(1<<30)*p.OrderedPublishGiB
	case t.Topic:
		price = p.Publish
	case t.Ordered:
		price = p.OrderedQueue
	}
	requests := sends + receives + float64(t.Empty) + deletes
	return Bill{requests, requests*price/1e6 + bytes}
}
