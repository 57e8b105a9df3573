package driver

import "time"

// ChannelInfo describes a channel as the service has it.
type ChannelInfo struct {
	// Channel has Ordered as the service has it; false if order is no property of the service's channels. Without a
	// Queue it is the exchange itself, to which producers send.
	Channel Channel
	// Mapped is set for a resource that the backend was told to use for the channel. Godwit never changes or deletes
	// it.
	Mapped bool
	// Paused is set while the service refuses receives because of an [Operations].Pause.
	Paused bool
	// Address is the service's name of the resource: an ARN, or the name of a topic of Kafka.
	Address string
	// Tags are the tags of the resource; nil: unknown, because the service has none, or because reading them is denied.
	Tags map[string]string
	// Created is when the resource was created; zero: the service does not say.
	Created time.Time
}

// Role is what a listed channel is.
type Role uint8

const (
	RoleQueue       Role = iota // messages wait in it for one consumer
	RoleExchange                // the fan-out point of a one-to-many channel
	RoleDeadLetters             // rejected messages
	RoleLater                   // messages that wait for their time
	RoleTicks                   // messages of schedules that are not sent on yet
)

func (r Role) String() string {
	return [...]string{"queue", "exchange", "dead-letters", "later", "ticks"}[r]
}

// Role returns what the channel is.
func (c Channel) Role() Role {
	switch {
	case c.DeadLetter:
		return RoleDeadLetters
	case c.Later:
		return RoleLater
	case c.Ticks:
		return RoleTicks
	case c.Queue == "":
		return RoleExchange
	}
	return RoleQueue
}
