//go:build !synctests

package sim

import "errors"

const withKafka = false

func newKafkaCarrier(*operated) (carrier, error) {
	return nil, errors.New("worlds of Kafka need the build tag synctests")
}
