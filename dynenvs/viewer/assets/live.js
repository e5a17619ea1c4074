/** A running environment: what it sends is shown, keys are sent to it. */

const KEYS = ["w", "s", "a", "d", "q", "e", "p", "r"];

export function follow(player, panel, { token }) {
  const message = document.getElementById("message");
  const say = (text) => {
    message.textContent = text;
    message.hidden = !text;
  };
  const send = (key) => {
    fetch("key", { method: "POST", headers: { "X-Token": token }, body: key }).catch(() => {});
  };
  for (const key of KEYS) panel.keys.set(key, () => send(key));
  const source = new EventSource(`events?token=${token}`);
  source.addEventListener("open", () => say(""));
  source.addEventListener("error", () => say("The simulation has ended or cannot be reached."));
  source.addEventListener("begin", () => {
    player.film.clear();
    player.begin();
  });
  source.addEventListener("moments", (event) => {
    const { frames, prints } = JSON.parse(event.data);
    player.film.append(frames);
    player.film.prints.push(...prints);
    player.grown();
  });
}
