"""`python -m studies bench`: speeds beside those of other systems, in alternation in one run.

race.py      systems take turns; medians, spread and ratios of what they did
peers.py     other people's packages: present, or named as missing
machine.py   what it ran on: processor, cores, versions
mirrors.py   one mechanism written for dynenvs, MuJoCo and Pinocchio
loose.py     scenes of loose boxes in dynenvs and in MuJoCo
single.py, batch.py, dynamics.py, steps.py, scenes.py, lcp.py, pendulum.py, memory.py      families
robots.py, robot_race.py, robot_files.py      robots of other people's wheels
siconos.py, siconos_files.py      the test problems of Siconos, which a folder must hold
report.py, plot.py      tables, Markdown, JSON, picture
families.py  their names, and the one call that measures them
"""
