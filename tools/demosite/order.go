package main

import (
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const steps = 3 // who, what, and a look at all of it

// order is what was typed, as it was typed.
type order struct {
	Name, Email, Country                    string // step 1
	Product, Quantity, Date, Delivery, Note string // step 2
	Gift, Terms                             bool   // step 2, step 3
}

// form is a step to show.
type form struct {
	Step     int
	Order    order
	Problems map[string]string // by field
}

type placed struct {
	Number int
	Order  order
}

type choice struct{ Value, Label string }

// The choices of the form, in their order.
var (
	countries  = []choice{{"de", "Germany"}, {"fr", "France"}, {"jp", "Japan"}, {"us", "United States"}}
	products   = []choice{{"tea", "Tea"}, {"coffee", "Coffee"}, {"cocoa", "Cocoa"}}
	deliveries = []choice{{"standard", "Standard"}, {"express", "Express"}}
)

func (form) Countries() []choice  { return countries }
func (form) Products() []choice   { return products }
func (form) Deliveries() []choice { return deliveries }

func (o order) CountryLabel() string  { return label(countries, o.Country) }
func (o order) ProductLabel() string  { return label(products, o.Product) }
func (o order) DeliveryLabel() string { return label(deliveries, o.Delivery) }

// label is "" for a value that is none of the choices.
func label(all []choice, value string) string {
	for _, c := range all {
		if c.Value == value {
			return c.Label
		}
	}
	return ""
}

func read(v url.Values) order {
	get := func(name string) string { return strings.TrimSpace(v.Get(name)) }
	return order{
		Name: get("name"), Email: get("email"), Country: get("country"),
		Product: get("product"), Quantity: get("quantity"), Date: get("date"), Delivery: get("delivery"), Note: get("note"),
		Gift: v.Has("gift"), Terms: v.Has("terms"),
	}
}

// check gives what is wrong with the fields of a step.
func (o order) check(step int) map[string]string {
	problems := map[string]string{}
	switch step {
	case 1:
		if n := utf8.RuneCountInString(o.Name); n < 2 || n > 80 {
			problems["name"] = "Enter a name of 2 to 80 characters."
		}
		if a, err := mail.ParseAddress(o.Email); err != nil || a.Address != o.Email {
			problems["email"] = "Enter an e-mail address, as in ann@example.com."
		}
		if o.CountryLabel() == "" {
			problems["country"] = "Choose a country."
		}
	case 2:
		if o.ProductLabel() == "" {
			problems["product"] = "Choose a product."
		}
		if n, err := strconv.Atoi(o.Quantity); err != nil || n < 1 || n > 99 {
			problems["quantity"] = "Enter a quantity from 1 to 99."
		}
		if d, err := time.Parse(time.DateOnly, o.Date); err != nil || d.Year() < 2026 || d.Year() > 2099 {
			problems["date"] = "Choose a delivery date from 2026 on."
		}
		if o.DeliveryLabel() == "" {
			problems["delivery"] = "Choose how to deliver."
		}
		if utf8.RuneCountInString(o.Note) > 500 {
			problems["note"] = "Shorten the note to 500 characters."
		}
	case 3:
		if !o.Terms {
			problems["terms"] = "Accept the terms to place the order."
		}
	}
	return problems
}
