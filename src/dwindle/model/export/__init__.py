"""A model in other programs: ONNX, SQL, JSON, C, JavaScript, scikit-learn and Vowpal Wabbit."""
