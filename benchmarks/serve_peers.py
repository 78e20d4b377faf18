"""The peers of the server: River behind FastAPI, and Vowpal Wabbit's daemon."""

from typing import Annotated, Any

from fastapi import Body, FastAPI
from river import linear_model, optim


def features(example: dict[str, Any]) -> dict[str, Any]:
    """Return features as River's linear models take them, which is faster than its encoders."""
    return {
        f"{name}={value}" if isinstance(value, str) else name: 1.0
        if isinstance(value, str)
        else value
        for name, value in example.items()
    }


model: Any = linear_model.LogisticRegression(optim.AdaGrad(0.1), l2=0.0)
app = FastAPI()
Many = Annotated[list[dict[str, Any]], Body()]


@app.post("/predict")
async def predict(example: Annotated[dict[str, Any], Body()]) -> dict[str, float]:
    """Predict one example."""
    return {"probability": model.predict_proba_one(features(example["features"]))[True]}


@app.post("/predict_many")
async def predict_many(examples: Many) -> dict[str, list[float]]:
    """Predict several."""
    found = [model.predict_proba_one(features(each["features"]))[True] for each in examples]
    return {"probability": found}


@app.post("/learn_many")
async def learn_many(examples: Many) -> dict[str, list[float]]:
    """Predict, then learn; nothing is written down."""
    found = []
    for each in examples:
        x = features(each["features"])
        found.append(model.predict_proba_one(x)[True])
        model.learn_one(x, each["label"] > 0)
    return {"probability": found}
