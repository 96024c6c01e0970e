"""
Digits from hidden units
========================

Four models of 8 x 8 images of digits, and images that they draw: pair counts herded without hidden
units, a restricted Boltzmann machine, herding with hidden units, and prototypes that have
replaced the images.
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import RBM, HiddenHerder, MomentHerder, ParametricHerder, datasets

digits = datasets.load_digits_binary().X

# %%
# All four draw 25 images. Herded images are every hundredth of a sequence, since neighbours
# differ on purpose.

herder = HiddenHerder(100).fit(digits)
prototypes = ParametricHerder(50).fit(digits)
drawn = {
    "images": digits[:: len(digits) // 25][:25],
    "pair counts": MomentHerder().fit(digits).sample(2500)[::100],
    "RBM": RBM(100).fit(digits.astype(float)).sample(25),
    "hidden units": herder.sample(2500)[::100],
    "50 prototypes": prototypes.sample(2500)[::100],
}
print(herder.summary())
print(prototypes.summary())

# %%
# How far are drawn images from the nearest real one? Images that agree with one in all pixels
# may be copies of it.

for name, images in drawn.items():
    gaps = (images[:, None, :] != digits[None, :, :]).sum(axis=2)
    if name == "images":
        gaps[np.arange(25), np.arange(25) * (len(digits) // 25)] = 64
    print(f"{name:<14} pixels from the nearest other image: {gaps.min(axis=1).mean():.1f}")

figure, axes = plt.subplots(1, 5, figsize=(9.6, 2.3), layout="constrained")
for ax, (name, images) in zip(axes, drawn.items(), strict=True):
    sheet = np.full((5 * 9 - 1, 5 * 9 - 1), 0.5)
    for i, image in enumerate(images):
        top, left = 9 * (i // 5), 9 * (i % 5)
        sheet[top : top + 8, left : left + 8] = image.reshape(8, 8)
    ax.imshow(sheet, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    ax.set_title(name, fontsize=10)
    ax.set_axis_off()
