// Command service is an HTTP service with a producer and a consumer: POST /orders/17 accepts an order, and a handler
// handles it once. Health and metrics are on an address of their own. It stops in the order in which nothing is lost.
package main
