package demo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/godwitmq/godwit"
)

// exchange is the exchange that wishes are sent to.
const exchange = "wishlist_events"

// wish is a message. Wishes of one user are in order.
type wish struct {
	Number int    `json:"number"`
	User   string `json:"user"`
	Item   string `json:"item"` // also its routing key
}

// items returns the items that users wish for. Some of them reveal an inaccurate filter: a tablet of a manufacturer
// whose phones are wanted, and a key with the phones' prefix except for the dot.
func items() []string {
	return []string{
		"MOBILE.APPLE", "MOBILE.SAMSUNG", "MOBILE.FAIRPHONE", "TABLET.APPLE", "MOBILEHOME.HYMER",
		"BOOK.PAPERBACK",
	}
}

// wishOf returns a wish, derived from the seed and its number.
func wishOf(seed uint64, number int, user string) wish {
	all := items()
	return wish{Number: number, User: user, Item: all[rand.New(rand.NewPCG(seed, uint64(number))).IntN(len(all))]}
}

func (w wish) message() (godwit.Message, error) {
	body, err := json.Marshal(w)
	return godwit.Message{Body: body, ContentType: godwit.JSON.ContentType(), OrderKey: w.User, RoutingKey: w.Item}, err
}

func readWish(body []byte) (wish, error) {
	var w wish
	if err := json.Unmarshal(body, &w); err != nil {
		return w, fmt.Errorf("not a wish: %w", err)
	}
	return w, nil
}
