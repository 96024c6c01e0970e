"""
Imputing missing answers
========================

Two thousand people answered fourteen yes/no questions. Another five hundred left some of them
out. A pairwise model fitted to the first group imputes the missing answers of the second, given
the answers that are there, with probabilities. The data are sampled from a known model, so the
lowest possible error is known, too.
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import BoltzmannMachine, PairwiseModel, gibbs

questions = (
    "owns a car", "has a garden", "lives in a city", "has children", "owns a dog",
    "goes by bicycle", "reads a paper", "goes to concerts", "plays a sport", "cooks daily",
    "travels far", "works from home", "owns the flat", "knows the neighbours",
)  # fmt: skip
n_questions, n_complete, n_gaps = len(questions), 2000, 500
spins = PairwiseModel.random(n_questions, coupling_sd=0.35, bias_sd=0.3, random_state=3)
truth = spins.to_states((0, 1))

# %%
# People are Gibbs samples of the model, twenty sweeps apart. Each of the last five hundred leaves
# out three answers in ten, at random.

people = gibbs(truth, 20 * (n_complete + n_gaps), burn_in=100, thinning=20).samples
complete, answers = people[:n_complete], people[n_complete:]
missing = np.random.default_rng(0).random(answers.shape) < 0.3
asked = np.where(missing, np.nan, answers)

machine = BoltzmannMachine(alpha="cv").fit(complete)
print(machine.diagnostics_)

# %%
# ``conditional`` returns the probability of a yes given the answers of that person, computed
# exactly by summing over all completions.

chances = machine.conditional(asked)
person = int(missing.sum(axis=1).argmax())
print(f"person {person} left out {missing[person].sum()} answers")
for j in np.flatnonzero(missing[person]):
    said = "yes" if answers[person, j] else "no"
    print(f"  {questions[j]:<21} yes with probability {chances[person, j]:.2f}; said {said}")

# %%
# ``impute`` fills in the more probable answer. It is compared with the most frequent answer of all
# people, and with the more probable answer under the true model, which is the best possible:
# ``given`` conditions it on the answers of a person.

best = np.array(answers)
for row, gaps in zip(best, missing, strict=True):
    if gaps.any():
        rest, free = truth.given({j: row[j] for j in np.flatnonzero(~gaps)})
        row[free] = rest.exact().marginals > 0.5
guesses = {
    "most frequent answer": np.broadcast_to(complete.mean(axis=0) > 0.5, answers.shape),
    "fitted model": machine.impute(asked),
    "true model": best,
}
for name, guess in guesses.items():
    print(f"{name:<22} error {np.mean(guess[missing] != answers[missing]):.1%}")

# %%
# Calibration: among missing answers with a predicted probability of 70 %, seven in ten should be
# a yes.

edges = np.linspace(0, 1, 11)
bins = np.digitize(chances[missing], edges[1:-1])
said = answers[missing]
held = [b for b in range(10) if (bins == b).sum() >= 20]
figure, ax = plt.subplots(figsize=(4.4, 4.0), layout="constrained")
ax.axline((0, 0), slope=1, color="0.7", linewidth=1)
ax.plot(
    [chances[missing][bins == b].mean() for b in held],
    [said[bins == b].mean() for b in held],
    "o-",
    color="#0f766e",
)
ax.set_xlabel("predicted probability of a yes")
ax.set_ylabel("observed proportion of yes")
ax.spines[["top", "right"]].set_visible(False)
