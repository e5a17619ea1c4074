/* Unpacks the page's modules and starts them.  Each becomes a blob of its own; the names by which
   they import each other are replaced by the blobs' addresses, lower modules first. */
(async () => {
  "use strict";
  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const message = document.getElementById("message");
  try {
    const addresses = {};
    for (const element of document.querySelectorAll("script.module")) {
      const source = (await unpack(element.textContent)).replace(
        /(\bfrom\s+)"(\w+)"/g,
        (whole, word, name) => (name in addresses ? `${word}"${addresses[name]}"` : whole)
      );
      const blob = new Blob([source], { type: "text/javascript" });
      addresses[element.dataset.name] = URL.createObjectURL(blob);
    }
    const recorded = JSON.parse(await unpack(document.getElementById("document").textContent));
    const { start } = await import(addresses.main);
    start(recorded);
    message.hidden = true;
  } catch (error) {
    message.textContent = `This page cannot be shown: ${error.message}`;
    throw error;
  }
})();
