"""What is measured of answers as numbers: accuracy, evidence, calibration, discrimination, errors and costs."""
