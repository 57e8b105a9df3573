// Package onkafka takes the options of a backend on Kafka from declared channels.
//
// Its noun: [Options] are those of the backend, with the settings of topics of a [topology.Spec].
package onkafka
