module ipam-operator-test/probe

go 1.26.0
