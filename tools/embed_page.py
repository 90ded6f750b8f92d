#!/usr/bin/env python3
"""Makes an assembler file out of the files of the inspector's page, gzipped: `cordwood_page_assets` (inspector/page_assets.h).

    embed_page.py --out FILE.S [DIST]      without DIST: no files

Writes the packed files beside FILE.S. The same files give the same bytes.
"""
import argparse
import gzip
import os
import shutil


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("dist", nargs="?")
    options = parser.parse_args()
    folder = os.path.join(os.path.dirname(os.path.abspath(options.out)), "page_files")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    names = []
    if options.dist:
        for at, _, files in os.walk(options.dist):
            names += [os.path.relpath(os.path.join(at, name), options.dist) for name in files if not name.endswith(".map")]
    names.sort()
    table, bytes_, texts = [], [], []
    for number, name in enumerate(names):
        with open(os.path.join(options.dist, name), "rb") as f:
            packed = gzip.compress(f.read(), 9, mtime=0)
        path = os.path.join(folder, f"{number}.gz")
        with open(path, "wb") as f:
            f.write(packed)
        place = "/" + name.replace(os.sep, "/").replace("\\", "\\\\").replace('"', '\\"')
        table.append(f"  .quad .Lpath{number}, .Lbytes{number}, {len(packed)}\n")
        texts.append(f'.Lpath{number}: .asciz "{place}"\n')
        bytes_.append(f'.Lbytes{number}: .incbin "{path}"\n')
    with open(options.out, "w", encoding="ascii") as f:
        f.write("// Made by tools/embed_page.py.\n"
                '  .section .note.GNU-stack,"",%progbits\n'
                "  .section .rodata\n" + "".join(texts) + "".join(bytes_) +
                '  .section .data.rel.ro,"aw",%progbits\n'
                "  .balign 8\n  .globl cordwood_page_assets\n  .type cordwood_page_assets, %object\ncordwood_page_assets:\n" +
                "".join(table) + "  .quad 0, 0, 0\n  .size cordwood_page_assets, . - cordwood_page_assets\n")


if __name__ == "__main__":
    main()
