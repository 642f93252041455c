# The generated block out of context: one clock for everything, no other constraint is needed inside.
# 5.120 ns is 195.3 MHz: 64-byte beats at 100 Gb/s. Change the period to the design's.
create_clock -name clk -period 5.120 [get_ports clk]
# The reset is synchronous to clk; every other port is registered inside, so half a period is left to what drives it.
set_input_delay 2.560 -clock clk [remove_from_collection [all_inputs] [get_ports clk]]
set_output_delay 2.560 -clock clk [all_outputs]
