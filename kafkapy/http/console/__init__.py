"""The console: pages for people, at / and under /console/."""
