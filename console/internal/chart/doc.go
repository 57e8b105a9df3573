// Package chart draws the pictures of the console as SVG, on the server and without script.
//
// Its nouns: a chart is a struct whose method SVG returns one svg element for a page. [Sparkline], [Lines] and [Bands]
// draw values over time, [Strip] and [Lanes] ages against a bound, [Bars] amounts by name, [HeatMap] counts by group
// and time, [Dots] messages by time and attempt, [Flow] the rates between the stages of one channel, and [Map] those
// between exchanges, queues, consumers and dead letters. A [Unit] says how a chart writes its values. A mark is the
// shape that stands for one value: it has a tooltip (a title element) with the value, and the time if it has one.
//
// A value is unknown if it is NaN, infinite, negative or above 1e18; a time.Duration is unknown if it is negative. An
// unknown value is drawn as a gap or in grey, with the word unknown, never as zero.
//
// The same chart is always drawn to the same bytes: no chart reads the clock, and times are written in the location of
// the time that the chart was given. More values than the width has columns are joined, and the extremes are kept.
//
// Texts may come from anybody. They are escaped and cut, and control characters are replaced. A link leads to a page of
// the same server; another one is left out.
//
// # Classes
//
// A chart has no colors. The style sheet of the console, static/style.css, gives them by class, light and dark. A class
// of a color sets color and fill: currentColor. Sizes are attributes, so that a style sheet sets none of them.
//
// The root element has the class of its chart: c-sparkline, c-lines, c-bands, c-strip, c-bars, c-heat-map, c-flow,
// c-map, c-lanes, c-dots. Below it:
//
//	c-ok, c-warn, c-bad   colors of states: within the bound; more than one attempt; beyond the bound, or dead
//	c-plain               color of amounts without a state
//	c-second              color of the second value of bars
//	c-unknown             color of what is unknown
//	c-idle                color of links without messages
//	c-blocked             color of links whose filter lets nothing through
//	c-s0 … c-s7           colors of series
//	c-h0 … c-h5           colors of a heat map, from none to most
//	c-line                a line of values: stroke: currentColor, no fill
//	c-area                an area of values
//	c-link                a link between boxes: stroke: currentColor, no fill; its width is an attribute
//	c-grid                lines of the grid
//	c-limit               the line of a bound
//	c-track               the background of a bar
//	c-hit                 areas over a chart that have tooltips: transparent, visible under the pointer
//	c-box                 a box
//	c-exchange, c-queue, c-consumer, c-dead   what the box stands for
//	c-text                text; c-number is a large number; c-name, text of lesser weight; c-halo, text over lines
//	c-selected            a mark that is selected
package chart
